//! A two-layer classifier defined operator by operator: two interleaved spirals, trained with Adam, saved, loaded, and run in a
//! session.
//!     train_mlp OUT.volta

use volta::{sys, Context, Graph, Model, Session, Tensor, Trainer, TrainerOptions, View};

const POINTS: usize = 256;
const HIDDEN: i64 = 32;
const STEPS: usize = 400;

/// Point i of class i % 2 on a spiral arm of one and a half turns.
fn spirals() -> (Vec<f32>, Vec<i32>) {
    let (mut points, mut classes) = (Vec::new(), Vec::new());
    for i in 0..POINTS {
        let t = (i / 2) as f64 / (POINTS / 2) as f64;
        let angle = 9.42 * t + 3.14159265 * (i % 2) as f64;
        points.extend([(t * angle.cos()) as f32, (t * angle.sin()) as f32]);
        classes.push((i % 2) as i32);
    }
    (points, classes)
}

fn define(context: &Context) -> volta::Result<Model> {
    let mut graph = Graph::new(context)?;
    let x = graph.input::<f32>("points", &[-1, 2])?; // any number of points
    let h = graph.linear("hidden1", x, HIDDEN)?;
    let h = graph.unary("tanh", h)?;
    let h = graph.linear("hidden2", h, HIDDEN)?;
    let h = graph.unary("relu", h)?;
    let y = graph.linear("head", h, 2)?;
    graph.output("logits", y)?;
    Model::of(&graph, 1)
}

fn run(path: &str) -> volta::Result<usize> {
    let context = Context::new()?;
    let (points, classes) = spirals();
    let shape = [POINTS as i64, 2];
    let x = View::of(&context, &points, &shape)?;
    let y = View::of(&context, &classes, &shape[..1])?;
    let options = TrainerOptions {
        input_shapes: vec![shape.to_vec()],
        numbers: sys::volta_trainer_options {
            loss: sys::VOLTA_LOSS_CROSS_ENTROPY,
            optimizer: sys::VOLTA_ADAM,
            learning_rate: 0.01,
            ..Default::default()
        },
        ..Default::default()
    };
    let mut trainer = Trainer::new(&define(&context)?, &options)?;
    let mut loss = 0.0;
    for step in 0..STEPS {
        loss = trainer.step(&[&x], &y)?.loss;
        if step % 100 == 0 {
            println!("step {} loss {loss:.6}", step + 1);
        }
    }
    println!("step {STEPS} loss {loss:.6}");
    trainer.save(path)?;
    println!("hash {}", trainer.hash()?);

    let mut session = Session::new(&Model::open(&context, path)?, &[&shape])?;
    let mut logits = Tensor::zeros::<f32>(&context, &shape)?;
    session.run_one(&x, &mut logits)?;
    let scores = logits.as_slice::<f32>().chunks(2);
    Ok(scores.zip(&classes).filter(|(of, class)| (of[1] > of[0]) == (**class == 1)).count())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() != 2 {
        eprintln!("usage: train_mlp OUT.volta");
        std::process::exit(2);
    }
    match run(&arguments[1]) {
        Ok(right) => {
            println!("{right} of {POINTS} points right");
            std::process::exit((right <= POINTS * 9 / 10) as i32)
        }
        Err(error) => {
            eprintln!("train_mlp: {error}");
            std::process::exit(1)
        }
    }
}
