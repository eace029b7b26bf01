# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack: it builds this checkout, or a tarball of it, with Spack's Open MPI. Put this file into
# packages/nicbarr/ of a repository of recipes (spack repo create), and say
#
#     spack develop --path CHECKOUT nicbarr@main && spack install nicbarr
#
# The components go where env.sh of the package finds them; loading the package does the same.
import os

from spack.package import *


class Nicbarr(AutotoolsPackage):
    """MPI_Barrier for Open MPI, chosen by measurement."""

    license("BSD-3-Clause")

    # There is no public address yet: the sources are a checkout's (spack develop).
    version("main")

    variant("verbs", default=False, description="Play barriers by RDMA cards")
    variant("kernel", default=False, description="Play barriers in the kernel's receive path")
    variant("tests", default=False, description="Build the unit tests")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openmpi@4.1:4.1.99,5.0:5.0.99")
    depends_on("jansson")
    depends_on("libsodium")
    depends_on("libseccomp@2.5:")
    depends_on("pmix", when="^openmpi@5.0:")
    depends_on("rdma-core", when="+verbs")
    depends_on("libbpf@1.0:", when="+kernel")
    depends_on("bpftool", type="build", when="+kernel")
    depends_on("llvm+clang targets=bpf", type="build", when="+kernel")
    depends_on("cmocka", type=("build", "test"), when="+tests")

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        args = ["MPICC=" + self.spec["openmpi"].prefix.bin.mpicc, "--disable-man"]
        args += self.with_or_without("libibverbs", variant="verbs")
        args += self.enable_or_disable("kernel-nic", variant="kernel")
        return args

    def setup_run_environment(self, env):
        release = self.spec["openmpi"].version.up_to(2)
        components = os.path.join(self.prefix.lib, "nicbarr", "openmpi-{0}".format(release))
        env.prepend_path("OMPI_MCA_mca_base_component_path", components)
        env.append_path("OMPI_MCA_mca_base_component_path", "SYSTEM_DEFAULT")
        if self.spec.satisfies("^openmpi@5.0:"):
            # Else PMIx looks for its own components in that path as well, and complains.
            env.set("PMIX_MCA_mca_base_component_path", ":")
