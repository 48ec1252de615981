! Part of the vfriendly project, under the Apache License v2.0 with LLVM
! Exceptions. See LICENSE for license information.
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
program truth
  implicit none
  integer(1), allocatable :: pages(:)
  integer :: i
  allocate (pages(4096 * 20000))
  do i = 1, 20000
    pages(4096 * (i - 1) + 1) = 1_1 ! HERE fortran fault
  end do
  if (sum(int(pages(1::4096))) /= 20000) stop 1
  print '(a)', '{}'
end program
