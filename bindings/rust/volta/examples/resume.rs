//! Training that is interrupted: half of the steps, a checkpoint, and the rest in another process give the bits of all steps in one. Run
//! it twice: the first call ends half-way, the second goes on.
//!     resume TEXT CHECKPOINT.volta STEPS [END]    END: the step to end at now

use volta::{sys, Context, GptOptions, Model, Tokenizer, Trainer, TrainerOptions};

fn begin(context: &Context, steps: u64) -> volta::Result<Trainer> {
    let sizes = GptOptions { vocabulary: 256, layers: 2, dim: 32, heads: 2, context: 32, dropout: 0.1, ..Default::default() };
    let options = TrainerOptions {
        input_shapes: vec![vec![4, 32]],
        numbers: sys::volta_trainer_options {
            steps,
            schedule: sys::VOLTA_SCHEDULE_COSINE,
            seed: 7,
            ..Default::default()
        },
        ..Default::default()
    };
    Trainer::new(&Model::gpt(context, &sizes, 1)?, &options)
}

fn run(path: &str, checkpoint: &str, steps: u64, end: Option<u64>) -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new()?;
    let tokens = Tokenizer::bytes(&context)?.encode(std::fs::read(path)?)?;
    let again = std::path::Path::new(checkpoint).exists();
    let mut trainer = if again {
        Trainer::resume(&Model::open(&context, checkpoint)?)? // it has all: moments, seed, step, place in the data, options
    } else {
        begin(&context, steps)?
    };
    let end = end.unwrap_or(if again { steps } else { steps / 2 });
    trainer.set_tokens(&tokens)?;
    while trainer.current_step() < end {
        trainer.step_tokens()?;
    }
    trainer.save(checkpoint)?;
    println!("step {} hash {}", trainer.current_step(), trainer.hash()?);
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let steps = arguments.get(3).and_then(|steps| steps.parse().ok()).unwrap_or(0);
    if arguments.len() < 4 || arguments.len() > 5 || steps < 2 {
        eprintln!("usage: resume TEXT CHECKPOINT.volta STEPS [END]");
        std::process::exit(2);
    }
    let end = arguments.get(4).and_then(|end| end.parse().ok());
    if let Err(error) = run(&arguments[1], &arguments[2], steps, end) {
        eprintln!("resume: {error}");
        std::process::exit(1);
    }
}
