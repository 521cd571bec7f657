"""How hot kernels are compiled.

Numba counts references to an array at every call that passes it on, by atomic instructions; in a loop over rows made of
small functions that is most of the time. `kernel` compiles without this runtime: such a function makes no arrays and
gives none back. `inlined` is for the functions of its inner loop, which else would push a dozen arrays per row.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, _nrt=False)
inlined = njit(cache=True, nogil=True, _nrt=False, inline="always")
