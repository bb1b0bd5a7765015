//! The whole life cycle of a small GPT: define, train, save, load in a fresh context, generate.
//!     train_gpt TEXT OUT.volta [STEPS]

use std::io::Write;
use volta::{sys, Context, Flow, Generator, GeneratorOptions, GptOptions, Model, Tokenizer, Trainer, TrainerOptions};

fn train(text: &str, path: &str, steps: u64) -> volta::Result<()> {
    let context = Context::new()?; // all cores, the best instruction set
    let tokenizer = Tokenizer::characters(&context, text)?;
    let gpt = GptOptions {
        vocabulary: tokenizer.size().into(),
        layers: 2,
        dim: 64,
        heads: 4,
        context: 32,
        ..Default::default()
    };
    let mut model = Model::gpt(&context, &gpt, 1)?;
    model.set_tokenizer(&tokenizer)?;
    let options = TrainerOptions {
        input_shapes: vec![vec![8, 32]], // 8 sequences of 32 tokens
        numbers: sys::volta_trainer_options {
            steps,
            schedule: sys::VOLTA_SCHEDULE_COSINE,
            learning_rate: 3e-3,
            weight_decay: 0.1,
            clip_norm: 1.0,
            seed: 1,
            ..Default::default()
        },
        ..Default::default()
    };
    let mut trainer = Trainer::new(&model, &options)?;
    trainer.set_tokens(&tokenizer.encode(text)?)?;
    for step in 0..steps {
        let report = trainer.step_tokens()?;
        if step % 50 == 0 {
            eprintln!("step {} loss {:.4}", report.step, report.loss);
        }
    }
    trainer.save(path)?; // the model and everything to go on from here
    println!("hash {}", trainer.hash()?);
    Ok(())
}

fn generate(path: &str, prompt: &str) -> volta::Result<()> {
    let context = Context::new()?;
    let model = Model::open(&context, path)?; // mapped: opens in milliseconds
    let tokenizer = model.tokenizer()?.expect("it was saved with one");
    let options = GeneratorOptions { temperature: 0.8, seed: 1, ..Default::default() };
    let mut generator = Generator::new(&model, &options)?;
    generator.start(&tokenizer.encode(prompt)?)?;
    print!("{prompt}");
    let mut out = std::io::stdout();
    generator.write(&Default::default(), |piece, _| match out.write_all(piece) {
        Ok(()) => Flow::Go,
        Err(_) => Flow::Stop,
    })?;
    println!();
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 3 || arguments.len() > 4 {
        eprintln!("usage: train_gpt TEXT OUT.volta [STEPS]");
        std::process::exit(2);
    }
    let steps = arguments.get(3).map_or(200, |steps| steps.parse().unwrap_or(0));
    let result = match std::fs::read_to_string(&arguments[1]) {
        Ok(text) => train(&text, &arguments[2], steps)
            .and_then(|()| generate(&arguments[2], &text.chars().take(4).collect::<String>()))
            .map_err(|error| error.to_string()),
        Err(error) => Err(format!("{}: {error}", arguments[1])),
    };
    if let Err(text) = result {
        eprintln!("train_gpt: {text}");
        std::process::exit(1);
    }
}
