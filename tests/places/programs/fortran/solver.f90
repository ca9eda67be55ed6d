! SPDX-License-Identifier: MIT
! solver.f90 - a Fortran module that calls OpenCL through iso_c_binding.
module solver
  use iso_c_binding
  implicit none
  type(c_ptr) :: context
  interface
    function cl_open() bind(c, name="cl_open")
      import :: c_ptr
      type(c_ptr) :: cl_open
    end function
    function clCreateBuffer(context, flags, bytes, host, error) bind(c, name="clCreateBuffer")
      import :: c_ptr, c_int64_t, c_size_t
      type(c_ptr), value :: context, host, error
      integer(c_int64_t), value :: flags
      integer(c_size_t), value :: bytes
      type(c_ptr) :: clCreateBuffer
    end function
  end interface
contains
  subroutine allocate_grid(cells)
    integer, intent(in) :: cells
    type(c_ptr) :: grid
    grid = clCreateBuffer(context, 1_c_int64_t, int(cells, c_size_t) * 8, c_null_ptr, c_null_ptr)
  end subroutine

  subroutine advance(steps)
    integer, intent(in) :: steps
    integer :: i
    do i = 1, steps
      call one_step(i)
    end do
  contains
    subroutine one_step(i)
      integer, intent(in) :: i
      type(c_ptr) :: halo
      halo = clCreateBuffer(context, 1_c_int64_t, int(i, c_size_t) * 4096, c_null_ptr, c_null_ptr)
    end subroutine
  end subroutine
end module

program heat
  use solver
  implicit none
  context = cl_open()
  call allocate_grid(1024)
  call advance(1)
end program
