! Part of the vfriendly project, under the Apache License v2.0 with LLVM
! Exceptions. See LICENSE for license information.
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! One thread fills an array of 64 MB, and a team adds it up. Prints the sum, and on
! which node each share of the array's pages lies.
program sum
  use iso_c_binding
  interface
    subroutine print_nodes(name, field, bytes) bind(c)
      import
      character(kind=c_char) :: name(*)
      type(c_ptr), value :: field
      integer(c_long), value :: bytes
    end subroutine
  end interface
  integer, parameter :: n = 8388608
  real(8), allocatable, target :: field(:)
  real(8) :: total
  integer :: i
  allocate(field(n))
  do i = 1, n
    field(i) = mod(i, 7)
  end do
  total = 0
!$omp parallel do schedule(static) reduction(+:total)
  do i = 1, n
    field(i) = field(i) * 2
    total = total + field(i)
  end do
  call print_nodes("field" // c_null_char, c_loc(field), n * 8_c_long)
  print '("sum ", f0.0)', total
end program
