## SPDX-License-Identifier: BSD-3-Clause
## The sources of packages: Debian's for packages.sh, RPMs for rpmbuild, Spack's recipes.
EXTRA_DIST += packaging/debian/changelog packaging/debian/control packaging/debian/copyright packaging/debian/rules \
    packaging/debian/source/format packaging/debian/not-installed packaging/debian/myrd.install \
    packaging/debian/nicbarr-tools.install packaging/debian/openmpi-nicbarr.install \
    packaging/debian/openmpi-nicbarr.lintian-overrides packaging/debian/libmyr0.install \
    packaging/debian/libmyr0.symbols packaging/debian/libmyr-dev.install packaging/debian/libmyr-dev.examples
## In the tarball, where rpmbuild -ta looks for it.
EXTRA_DIST += packaging/rpm/nicbarr.spec
EXTRA_DIST += packaging/spack/spack_repo/nicbarr/repo.yaml \
    packaging/spack/spack_repo/nicbarr/packages/nicbarr/package.py \
    packaging/spack/spack_repo/nicbarr/packages/openmpi/package.py
