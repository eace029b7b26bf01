# SPDX-License-Identifier: BSD-3-Clause
# Spack's Open MPI, but installed with the internal headers, which are required to compile components.
from spack_repo.builtin.packages.openmpi.package import Openmpi as BuiltinOpenmpi

from spack.package import *


class Openmpi(BuiltinOpenmpi):
    __doc__ = BuiltinOpenmpi.__doc__

    def configure_args(self):
        return super().configure_args() + ["--with-devel-headers"]
