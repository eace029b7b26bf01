# SPDX-License-Identifier: BSD-3-Clause
# A recipe for Spack 1.0 and later. It builds a checkout or an unpacked tarball:
#
#     spack repo add CHECKOUT/packaging/spack/spack_repo/nicbarr
#     spack env create --dir DIRECTORY && spack env activate DIRECTORY
#     spack add nicbarr && spack develop --path CHECKOUT nicbarr@0.1.0 && spack install
#
# After `spack load nicbarr` mpirun finds the components. `spack test run nicbarr` runs a job. Root has to
# add --dirty, which keeps the two variables that permit mpirun to run as root. An external Open MPI must
# be installed with its internal headers (Debian: libopenmpi-dev).
import os

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class Nicbarr(AutotoolsPackage):
    """MPI_Barrier for Open MPI, chosen by measurement."""

    license("BSD-3-Clause")

    # There is no public download address yet, so the sources are those of a checkout (spack develop).
    version("0.1.0")

    variant("verbs", default=False, description="Execute barriers by RDMA cards")
    # Spack has no packages of libbpf and bpftool.
    variant("kernel", default=False, description="Execute barriers in the kernel's receive path; "
            "needs clang, bpftool and libbpf of the system")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("autoconf@2.69:", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("help2man", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("cmocka", type="test")
    depends_on("openmpi@4.1:4.1.99,5.0:5.0.99")
    depends_on("pmix", when="^openmpi@5.0:")
    depends_on("jansson")
    depends_on("gsl")
    depends_on("libsodium")
    depends_on("libseccomp@2.5:")
    depends_on("rdma-core", when="+verbs")

    # A separate directory, because the checkout may contain other build directories.
    build_directory = "_spack"

    def autoreconf(self, spec, prefix):
        Executable("./autogen.sh")()

    def configure_args(self):
        args = ["MPICC=" + self.spec["openmpi"].prefix.bin.mpicc, "--with-libsodium"]
        args += self.with_or_without("libibverbs", variant="verbs")
        args += self.with_or_without("librdmacm", variant="verbs")
        args += self.enable_or_disable("kernel-nic", variant="kernel")
        if self.spec.satisfies("+kernel"):
            args += ["LIBBPF_CFLAGS= ", "LIBBPF_LIBS=-lbpf"]
        return args

    def check(self):
        """The tests that start no job."""
        with working_dir(self.build_directory):
            make("check", "TESTS=$(unit_programs)")

    def setup_run_environment(self, env):
        release = self.spec["openmpi"].version.up_to(2)
        components = os.path.join(self.prefix.lib, "nicbarr", "openmpi-{0}".format(release))
        env.prepend_path("OMPI_MCA_mca_base_component_path", components)
        env.append_path("OMPI_MCA_mca_base_component_path", "SYSTEM_DEFAULT")
        if self.spec.satisfies("^openmpi@5.0:"):
            # Otherwise PMIx also searches that path for components of its own, and prints warnings.
            env.set("PMIX_MCA_mca_base_component_path", ":")

    def test_barrier(self):
        """a job executes the requested barrier"""
        mpirun = which(self.spec["openmpi"].prefix.bin.mpirun, required=True)
        output = mpirun(
            "-np", "2", "--oversubscribe",
            "--mca", "coll_nicbarr_verbose", "1", "--mca", "coll_nicbarr_algorithm", "dissemination:2",
            self.prefix.bin.nicbarr_bench, "--chunks", "20", "-x", "100",
            output=str.split, error=str.split,
        )
        check_outputs("2 processes on one node: dissemination", output)
