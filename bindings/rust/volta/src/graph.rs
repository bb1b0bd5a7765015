use crate::error::check;
use crate::{handle, owned, sys, text, Context, Element, Input, Result};
use std::ptr;

handle!(
    /// What to compute.
    Graph,
    volta_graph,
    volta_graph_release
);

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    id: i32,
}

impl Value {
    fn raw(self) -> sys::volta_value {
        sys::volta_value { id: self.id }
    }
}

/// How a parameter starts.
#[derive(Clone, Copy, Debug)]
pub enum Init {
    Constant(f64),
    /// Of this standard deviation, around 0.
    Normal(f64),
    Uniform(f64, f64),
}

/// An attribute of an operator: docs/operators.md lists them.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    Number(&'a str, f64),
    Integers(&'a str, &'a [i64]),
}

impl Init {
    pub(crate) fn raw(self) -> sys::volta_init {
        match self {
            Init::Constant(a) => sys::volta_init { kind: sys::VOLTA_INIT_CONSTANT, a, b: 0.0 },
            Init::Normal(a) => sys::volta_init { kind: sys::VOLTA_INIT_NORMAL, a, b: 0.0 },
            Init::Uniform(a, b) => sys::volta_init { kind: sys::VOLTA_INIT_UNIFORM, a, b },
        }
    }
}

/// What a call reads of attributes.
pub(crate) fn with_attributes<R>(
    attributes: &[Attribute<'_>],
    call: impl FnOnce(&[sys::volta_attribute]) -> Result<R>,
) -> Result<R> {
    let names = attributes
        .iter()
        .map(|attribute| match attribute {
            Attribute::Number(name, _) | Attribute::Integers(name, _) => text(name),
        })
        .collect::<Result<Vec<_>>>()?;
    let attributes: Vec<_> = attributes
        .iter()
        .zip(&names)
        .map(|(attribute, name)| match attribute {
            Attribute::Number(_, number) => sys::volta_attribute {
                name: name.as_ptr(),
                number: *number,
                integers: ptr::null(),
                integer_count: 0,
            },
            Attribute::Integers(_, integers) => sys::volta_attribute {
                name: name.as_ptr(),
                number: 0.0,
                integers: integers.as_ptr(),
                integer_count: integers.len(),
            },
        })
        .collect();
    call(&attributes)
}

impl Graph {
    pub fn new(context: &Context) -> Result<Self> {
        let mut raw = ptr::null_mut();
        check(unsafe { sys::volta_graph_create(context.raw, &mut raw) })?;
        Ok(Self { raw })
    }

    fn value(&mut self, make: impl FnOnce(*mut sys::volta_graph, *mut sys::volta_value) -> i32) -> Result<Value> {
        let mut value = sys::volta_value { id: -1 };
        check(make(self.raw, &mut value))?;
        Ok(Value { id: value.id })
    }

    /// What every run is given. An extent of -1 is chosen per session.
    pub fn input<T: Element>(&mut self, name: &str, shape: &[i64]) -> Result<Value> {
        let name = text(name)?;
        self.value(|graph, out| unsafe {
            sys::volta_graph_input(graph, name.as_ptr(), T::DTYPE, shape.as_ptr(), shape.len() as i32, out)
        })
    }

    /// A trainable tensor of f32; zeros at first where `init` is none.
    pub fn parameter(&mut self, name: &str, shape: &[i64], init: Option<Init>) -> Result<Value> {
        let name = text(name)?;
        let init = init.map(Init::raw);
        let init = init.as_ref().map_or(ptr::null(), |init| init as *const _);
        self.value(|graph, out| unsafe {
            sys::volta_graph_parameter(graph, name.as_ptr(), shape.as_ptr(), shape.len() as i32, init, out)
        })
    }

    /// Fixed values, copied.
    pub fn constant(&mut self, values: &dyn Input) -> Result<Value> {
        self.value(|graph, out| unsafe { sys::volta_graph_constant(graph, values.raw(), out) })
    }

    /// x W + b with new parameters "NAME.weight" and "NAME.bias".
    pub fn linear(&mut self, name: &str, x: Value, features: i64) -> Result<Value> {
        let name = text(name)?;
        self.value(|graph, out| unsafe { sys::volta_graph_linear(graph, name.as_ptr(), x.raw(), features, out) })
    }

    /// The operator named `op`, its first result.
    pub fn apply(&mut self, op: &str, inputs: &[Value], attributes: &[Attribute<'_>]) -> Result<Value> {
        let op = text(op)?;
        let inputs: Vec<_> = inputs.iter().map(|value| value.raw()).collect();
        with_attributes(attributes, |attributes| {
            self.value(|graph, out| unsafe {
                sys::volta_graph_apply(
                    graph,
                    op.as_ptr(),
                    inputs.as_ptr(),
                    inputs.len(),
                    attributes.as_ptr(),
                    attributes.len(),
                    out,
                    1,
                )
            })
        })
    }

    /// The operator of one input, no attribute and one result.
    pub fn unary(&mut self, op: &str, x: Value) -> Result<Value> {
        let op = text(op)?;
        self.value(|graph, out| unsafe { sys::volta_graph_unary(graph, op.as_ptr(), x.raw(), out) })
    }

    /// The same of two inputs.
    pub fn binary(&mut self, op: &str, a: Value, b: Value) -> Result<Value> {
        let op = text(op)?;
        self.value(|graph, out| unsafe { sys::volta_graph_binary(graph, op.as_ptr(), a.raw(), b.raw(), out) })
    }

    /// The graph as text, one node a line.
    pub fn print(&mut self) -> Result<String> {
        let mut text = ptr::null();
        check(unsafe { sys::volta_graph_print(self.raw, &mut text) })?;
        Ok(unsafe { owned(text) })
    }

    /// Declares a result, in call order.
    pub fn output(&mut self, name: &str, value: Value) -> Result<()> {
        let name = text(name)?;
        check(unsafe { sys::volta_graph_output(self.raw, name.as_ptr(), value.raw()) })
    }

    pub fn shape(&self, value: Value) -> Result<Vec<i64>> {
        let (mut shape, mut rank) = ([0; sys::VOLTA_MAX_RANK], 0);
        check(unsafe { sys::volta_graph_value_shape(self.raw, value.raw(), shape.as_mut_ptr(), &mut rank) })?;
        Ok(shape[..rank as usize].to_vec())
    }
}
