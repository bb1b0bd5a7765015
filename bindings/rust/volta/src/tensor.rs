use crate::error::check;
use crate::graph::Init;
use crate::{owned, path_text, sys, text, Comparison, Context, Error, Result};
use std::marker::PhantomData;
use std::mem::{size_of, ManuallyDrop};
use std::ops::Deref;
use std::path::Path;
use std::ptr;

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
}

/// What a tensor is made of: `f32` or `i32`.
pub trait Element: sealed::Sealed + Copy + 'static {
    const DTYPE: sys::volta_dtype;
}
impl Element for f32 {
    const DTYPE: sys::volta_dtype = sys::VOLTA_F32;
}
impl Element for i32 {
    const DTYPE: sys::volta_dtype = sys::VOLTA_I32;
}

/// What a call reads: a [`Tensor`] or a [`View`].
pub trait Input {
    fn raw(&self) -> *const sys::volta_tensor;
}

/// A dense array, row-major: of its own memory, or over memory that it borrows for writing.
pub struct Tensor<'a> {
    pub(crate) raw: *mut sys::volta_tensor,
    memory: PhantomData<&'a mut [f32]>,
}

/// A dense array over memory that it borrows for reading.
pub struct View<'a> {
    raw: *mut sys::volta_tensor,
    memory: PhantomData<&'a [f32]>,
}

fn wrapped<T: Element>(context: &Context, data: *const T, count: usize, shape: &[i64]) -> Result<*mut sys::volta_tensor> {
    let wanted = shape.iter().try_fold(1i64, |product, extent| product.checked_mul(*extent));
    if wanted != Some(count as i64) {
        return Err(Error::of_argument(format!("{count} elements are not a tensor of {shape:?}")));
    }
    let mut raw = ptr::null_mut();
    // An empty slice has no memory: any aligned address is as good.
    check(unsafe {
        sys::volta_tensor_wrap(context.raw, T::DTYPE, shape.as_ptr(), shape.len() as i32, data as *mut _, &mut raw)
    })?;
    Ok(raw)
}

impl Tensor<'static> {
    /// Of zeros.
    pub fn zeros<T: Element>(context: &Context, shape: &[i64]) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(unsafe {
            sys::volta_tensor_create(context.raw, T::DTYPE, shape.as_ptr(), shape.len() as i32, &mut raw)
        })?;
        Ok(Self { raw, memory: PhantomData })
    }

    /// Of memory that is the library's.
    pub(crate) fn of_raw(raw: *mut sys::volta_tensor) -> Self {
        Self { raw, memory: PhantomData }
    }
}

impl<'a> Tensor<'a> {
    /// Over the host's memory, which is borrowed until the tensor is dropped.
    pub fn over<T: Element>(context: &Context, data: &'a mut [T], shape: &[i64]) -> Result<Self> {
        let raw = wrapped(context, data.as_ptr(), data.len(), shape)?;
        Ok(Self { raw, memory: PhantomData })
    }

    pub fn shape(&self) -> Vec<i64> {
        let rank = unsafe { sys::volta_tensor_rank(self.raw) };
        (0..rank).map(|axis| unsafe { sys::volta_tensor_extent(self.raw, axis) }).collect()
    }

    fn elements<T: Element>(&self) -> usize {
        assert_eq!(unsafe { sys::volta_tensor_dtype(self.raw) }, T::DTYPE, "the tensor has elements of another type");
        unsafe { sys::volta_tensor_elements(self.raw) as usize }
    }

    /// Its elements. Panics where they are of another type.
    pub fn as_slice<T: Element>(&self) -> &[T] {
        let count = self.elements::<T>();
        unsafe { crate::lent(sys::volta_tensor_data(self.raw) as *const T, count) }
    }

    /// Its elements, for writing.
    pub fn as_mut_slice<T: Element>(&mut self) -> &mut [T] {
        let count = self.elements::<T>();
        let data = unsafe { sys::volta_tensor_data(self.raw) as *mut T };
        if data.is_null() || count == 0 {
            return &mut [];
        }
        unsafe { std::slice::from_raw_parts_mut(data, count) }
    }

    pub fn as_ptr(&self) -> *mut sys::volta_tensor {
        self.raw
    }

    /// Sets every element.
    pub fn fill(&mut self, value: f64) -> Result<()> {
        check(unsafe { sys::volta_tensor_fill(self.raw, value) })
    }

    /// Sets element i to start + i * step.
    pub fn arange(&mut self, start: f64, step: f64) -> Result<()> {
        check(unsafe { sys::volta_tensor_arange(self.raw, start, step) })
    }

    /// Draws what a parameter of this shape starts with in a model made from the seed; `stream` is its number in the graph.
    pub fn random(&mut self, init: Init, seed: u64, stream: u32) -> Result<()> {
        let init = init.raw();
        check(unsafe { sys::volta_tensor_random(self.raw, &init, seed, stream) })
    }

    /// As NumPy prints an array.
    pub fn text(&self) -> Result<String> {
        let mut lent = ptr::null();
        check(unsafe { sys::volta_tensor_print(self.raw, &mut lent) })?;
        Ok(unsafe { owned(lent) })
    }

    /// How far it is from what is expected. Tolerances of 0: by bits.
    pub fn compare(&self, expected: &dyn Input, rtol: f64, atol: f64) -> Result<Comparison> {
        let mut report = Comparison { struct_size: size_of::<Comparison>(), ..Default::default() };
        check(unsafe { sys::volta_tensor_compare(self.raw, expected.raw(), rtol, atol, &mut report) })?;
        Ok(report)
    }
}

/// Writes named tensors to a file that ends with .safetensors, .npz or, a single one, .npy.
pub fn save_tensors(context: &Context, path: impl AsRef<Path>, tensors: &[(&str, &dyn Input)]) -> Result<()> {
    let path = path_text(path)?;
    let names = tensors.iter().map(|(name, _)| text(name)).collect::<Result<Vec<_>>>()?;
    let names: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    let raw: Vec<_> = tensors.iter().map(|(_, tensor)| tensor.raw()).collect();
    check(unsafe {
        sys::volta_tensors_save(context.raw, path.as_ptr(), names.as_ptr(), raw.as_ptr(), raw.len())
    })
}

/// Named tensors that were read from such a file, of this library or another program, ascending by name.
pub struct Tensors {
    raw: *mut sys::volta_tensors,
}

/// A tensor of [`Tensors`], which it borrows.
pub struct Lent<'a> {
    tensor: ManuallyDrop<Tensor<'a>>,
}

impl<'a> Deref for Lent<'a> {
    type Target = Tensor<'a>;
    fn deref(&self) -> &Tensor<'a> {
        &self.tensor
    }
}
impl Input for Lent<'_> {
    fn raw(&self) -> *const sys::volta_tensor {
        self.tensor.raw
    }
}

impl Tensors {
    pub fn open(context: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = path_text(path)?;
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_tensors_open(context.raw, path.as_ptr(), &mut raw) })?;
        Ok(Self { raw })
    }

    pub fn len(&self) -> usize {
        unsafe { sys::volta_tensors_count(self.raw) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of a tensor; none where there is no such index.
    pub fn name(&self, index: usize) -> Option<String> {
        let name = unsafe { sys::volta_tensors_name(self.raw, index) };
        (!name.is_null()).then(|| unsafe { owned(name) })
    }

    /// A tensor, for reading; none where there is no such index.
    pub fn get(&self, index: usize) -> Option<Lent<'_>> {
        let raw = unsafe { sys::volta_tensors_tensor(self.raw, index) };
        (!raw.is_null()).then(|| Lent { tensor: ManuallyDrop::new(Tensor { raw, memory: PhantomData }) })
    }
}

impl Drop for Tensors {
    fn drop(&mut self) {
        unsafe { sys::volta_tensors_release(self.raw) }
    }
}

impl<'a> View<'a> {
    /// Over the host's memory, which is borrowed until the view is dropped.
    pub fn of<T: Element>(context: &Context, data: &'a [T], shape: &[i64]) -> Result<Self> {
        let raw = wrapped(context, data.as_ptr(), data.len(), shape)?;
        Ok(Self { raw, memory: PhantomData })
    }
}

impl Input for Tensor<'_> {
    fn raw(&self) -> *const sys::volta_tensor {
        self.raw
    }
}
impl Input for View<'_> {
    fn raw(&self) -> *const sys::volta_tensor {
        self.raw
    }
}
impl Drop for Tensor<'_> {
    fn drop(&mut self) {
        unsafe { sys::volta_tensor_release(self.raw) }
    }
}
impl Drop for View<'_> {
    fn drop(&mut self) {
        unsafe { sys::volta_tensor_release(self.raw) }
    }
}

pub(crate) fn pointers(inputs: &[&dyn Input]) -> Vec<*const sys::volta_tensor> {
    inputs.iter().map(|input| input.raw()).collect()
}
