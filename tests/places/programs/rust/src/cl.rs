// SPDX-License-Identifier: MIT
//! The functions of OpenCL that the program needs.
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::OnceLock;

#[link(name = "OpenCL")]
extern "C" {
    pub fn clGetPlatformIDs(n: u32, platforms: *mut *mut c_void, count: *mut u32) -> i32;
    pub fn clGetDeviceIDs(p: *mut c_void, t: u64, n: u32, d: *mut *mut c_void, c: *mut u32) -> i32;
    pub fn clCreateContext(p: *const isize, n: u32, d: *const *mut c_void, f: *mut c_void,
                           u: *mut c_void, e: *mut i32) -> *mut c_void;
    pub fn clCreateBuffer(c: *mut c_void, f: u64, s: usize, h: *mut c_void, e: *mut i32) -> *mut c_void;
}

pub fn context() -> *mut c_void {
    static CONTEXT: OnceLock<usize> = OnceLock::new();
    *CONTEXT.get_or_init(|| unsafe {
        let mut platform = null_mut();
        let mut device = null_mut();
        clGetPlatformIDs(1, &mut platform, null_mut());
        clGetDeviceIDs(platform, 0xffff_ffff, 1, &mut device, null_mut());
        clCreateContext(std::ptr::null(), 1, &device, null_mut(), null_mut(), null_mut()) as usize
    }) as *mut c_void
}
