use crate::error::check;
use crate::tensor::pointers;
use crate::{handle, owned, sys, Bill, Input, Model, Result, Tensor};
use std::ptr;

handle!(
    /// A model compiled to run.
    Session,
    volta_session,
    volta_session_release
);

impl Session {
    /// Shapes of all inputs in the model's order; none where it leaves no extent open.
    pub fn new(model: &Model, input_shapes: &[&[i64]]) -> Result<Self> {
        Self::with(model, input_shapes, 0)
    }
    /// `flags`: `sys::VOLTA_SESSION_PACK_WEIGHTS`.
    pub fn with(model: &Model, input_shapes: &[&[i64]], flags: u32) -> Result<Self> {
        let extents = input_shapes.concat();
        let options = sys::volta_session_options {
            input_shapes: if extents.is_empty() { ptr::null() } else { extents.as_ptr() },
            input_extent_count: extents.len(),
            flags,
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_session_create(model.raw, &options, &mut raw) })?;
        Ok(Self { raw })
    }
    /// Runs the graph once.
    pub fn run(&mut self, inputs: &[&dyn Input], outputs: &mut [&mut Tensor<'_>]) -> Result<()> {
        let inputs = pointers(inputs);
        let outputs: Vec<_> = outputs.iter().map(|output| output.raw).collect();
        check(unsafe {
            sys::volta_session_run(self.raw, inputs.as_ptr(), inputs.len(), outputs.as_ptr(), outputs.len())
        })
    }
    /// The same for one input and one output: nothing is allocated.
    pub fn run_one(&mut self, input: &dyn Input, output: &mut Tensor<'_>) -> Result<()> {
        let (input, output) = ([input.raw()], [output.raw]);
        check(unsafe { sys::volta_session_run(self.raw, input.as_ptr(), 1, output.as_ptr(), 1) })
    }
    pub fn output_shape(&self, index: usize) -> Result<Vec<i64>> {
        let (mut shape, mut rank) = ([0; sys::VOLTA_MAX_RANK], 0);
        check(unsafe { sys::volta_session_output_shape(self.raw, index, shape.as_mut_ptr(), &mut rank) })?;
        Ok(shape[..rank as usize].to_vec())
    }
    pub fn bill(&self) -> Result<Bill> {
        let mut bill = Bill::default();
        check(unsafe { sys::volta_session_get_bill(self.raw, &mut bill) })?;
        Ok(bill)
    }
    /// The plan as text: steps, kernels, offsets, bill, hash.
    pub fn plan(&mut self) -> Result<String> {
        let mut text = ptr::null();
        check(unsafe { sys::volta_session_print_plan(self.raw, &mut text) })?;
        Ok(unsafe { owned(text) })
    }
}
