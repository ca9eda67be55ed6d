// SPDX-License-Identifier: MIT
//! A Rust program that makes buffers in a function, a method of a generic type, a closure, a trait.
use std::ffi::c_void;
use std::ptr::null_mut;

mod cl;
mod tensor;

use tensor::{Allocate, Tensor};

fn load_weights(bytes: usize) -> *mut c_void {
    unsafe { cl::clCreateBuffer(cl::context(), 1, bytes, null_mut(), null_mut()) }
}

fn main() {
    let mut kept = vec![load_weights(1 << 10)];
    kept.push(Tensor::<f32>::zeros(512).buffer);
    kept.extend([3usize << 10].iter().map(|bytes| unsafe {
        cl::clCreateBuffer(cl::context(), 1, *bytes, null_mut(), null_mut())
    }));
    let pool: Box<dyn Allocate> = Box::new(tensor::Pool);
    kept.push(pool.allocate(4 << 10));
    kept.push(std::thread::spawn(|| load_weights(5 << 10) as usize).join().unwrap() as *mut c_void);
    std::process::exit((kept.len() == 0) as i32);
}
