// SPDX-License-Identifier: MIT
//! A generic type and a trait.
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

use crate::cl;

pub struct Tensor<T> {
    pub buffer: *mut c_void,
    kind: PhantomData<T>,
}

impl<T> Tensor<T> {
    pub fn zeros(cells: usize) -> Self {
        let bytes = cells * std::mem::size_of::<T>();
        let buffer = unsafe { cl::clCreateBuffer(cl::context(), 1, bytes, null_mut(), null_mut()) };
        Tensor { buffer, kind: PhantomData }
    }
}

pub trait Allocate {
    fn allocate(&self, bytes: usize) -> *mut c_void;
}

pub struct Pool;

impl Allocate for Pool {
    fn allocate(&self, bytes: usize) -> *mut c_void {
        unsafe { cl::clCreateBuffer(cl::context(), 1, bytes, null_mut(), null_mut()) }
    }
}
