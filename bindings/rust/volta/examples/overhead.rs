//! What the crate costs over C per run of a tiny model: overhead ROUNDS RUNS. One line of JSON: nanoseconds of each round.
//! C's loop is the call of `volta_sys`, which is C's own.

use std::time::Instant;
use volta::{sys, Context, Graph, Input, Model, Session, Tensor};

fn measure(rounds: usize, runs: u32) -> volta::Result<(Vec<f64>, Vec<f64>)> {
    let context = Context::with(1, sys::VOLTA_ISA_AUTO)?;
    let mut graph = Graph::new(&context)?;
    let x = graph.input::<f32>("x", &[1, 4])?;
    let y = graph.linear("fc", x, 4)?;
    graph.output("y", y)?;
    let mut session = Session::new(&Model::of(&graph, 1)?, &[])?;
    let x = Tensor::zeros::<f32>(&context, &[1, 4])?;
    let mut y = Tensor::zeros::<f32>(&context, &[1, 4])?;

    let (mut c, mut own) = (Vec::new(), Vec::new());
    let each = |begin: Instant| begin.elapsed().as_nanos() as f64 / f64::from(runs);
    for _ in 0..rounds {
        let (raw, input, output) = (session.as_ptr(), x.raw(), y.as_ptr());
        let begin = Instant::now();
        for _ in 0..runs {
            let status = unsafe { sys::volta_session_run(raw, &input, 1, &output, 1) };
            assert_eq!(status, sys::VOLTA_OK);
        }
        c.push(each(begin));
        let begin = Instant::now();
        for _ in 0..runs {
            session.run_one(&x, &mut y)?;
        }
        own.push(each(begin));
    }
    Ok((c, own))
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 3 {
        eprintln!("usage: overhead ROUNDS RUNS");
        std::process::exit(2);
    }
    let (c, own) = measure(arguments[1].parse().unwrap(), arguments[2].parse().unwrap()).unwrap();
    println!("{{\"language\": \"Rust\", \"c\": {c:?}, \"own\": {own:?}}}");
}
