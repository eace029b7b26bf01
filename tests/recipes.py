# SPDX-License-Identifier: BSD-3-Clause
# Prints the version in Spack's recipe, and the arguments that it passes to `configure`, a line for each combination of
# variants. recipes_test.sh calls it. Fakes replace the names that the recipe imports from Spack.
import itertools
import sys
import types

ignored = "depends_on license".split()


class Recipe:
    def with_or_without(self, name, variant):
        return ["--%s-%s" % ("with" if variant in self.chosen else "without", name)]

    def enable_or_disable(self, name, variant):
        return ["--%s-%s" % ("enable" if variant in self.chosen else "disable", name)]

    def satisfies(self, condition):
        return condition[0] == "+" and condition[1:] in self.chosen

    @property
    def spec(self):
        return self

    def __getitem__(self, package):
        prefix = types.SimpleNamespace(bin=types.SimpleNamespace(mpicc="/usr/bin/mpicc"))
        return types.SimpleNamespace(prefix=prefix)


variants, versions = [], []
spack = types.ModuleType("spack.package")
for name in ignored:
    setattr(spack, name, lambda *words, **options: None)
spack.variant = lambda name, **options: variants.append(name)
spack.version = versions.append
builders = types.ModuleType("spack_repo.builtin.build_systems.autotools")
builders.AutotoolsPackage = Recipe
for module in (spack, builders):
    sys.modules[module.__name__] = module
    for end in range(module.__name__.count(".")):
        parent = module.__name__.rsplit(".", end + 1)[0]
        sys.modules.setdefault(parent, types.ModuleType(parent))

room = {}
with open(sys.argv[1]) as file:
    exec(compile(file.read(), sys.argv[1], "exec"), room)
print("version", *versions)
for chosen in itertools.product([False, True], repeat=len(variants)):
    recipe = room["Nicbarr"]()
    recipe.chosen = [name for name, on in zip(variants, chosen) if on]
    print("options", *recipe.configure_args())
