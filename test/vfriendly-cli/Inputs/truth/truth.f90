! Part of the vfriendly project, under the Apache License v2.0 with LLVM
! Exceptions. See LICENSE for license information.
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
!
! Touches pages, sleeps, and spins, at the lines marked HERE.
program truth
  use iso_c_binding, only: c_int
  implicit none
  interface
    integer(c_int) function usleep(us) bind(c)
      import c_int
      integer(c_int), value :: us
    end function
  end interface
  integer, parameter :: pages_count = 20000, naps = 300
  integer(1), allocatable :: pages(:)
  integer, volatile :: flag
  integer :: i
  integer(c_int) :: ignored
  real(8) :: before, now
  allocate (pages(4096 * pages_count))
  do i = 1, pages_count
    pages(4096 * (i - 1) + 1) = 1_1 ! HERE fortran fault
  end do
  if (sum(int(pages(1::4096))) /= pages_count) stop 1
  ! Long enough for the thread to sleep before the timer is up: in a guest, setting one is an exit.
  do i = 1, naps
    ignored = usleep(1000) ! HERE fortran sleep
  end do
  flag = 0
  call cpu_time(before)
  do
    do i = 1, 1000000
      if (flag == 77) exit ! HERE fortran spin
    end do
    call cpu_time(now)
    if (now > before + 0.3d0) exit
  end do
  print '(a, i0, a, f0.6, a)', '{"naps": ', naps, ', "spun": 0', now - before, '}'
end program
