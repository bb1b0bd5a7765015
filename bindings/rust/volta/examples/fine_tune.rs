//! Fine-tuning: weights of another program are imported, evaluated, trained further on a text, quantized and given back.
//!     fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]
//! writes OUT.volta, OUT.int8.volta and OUT.safetensors with OUT.json, which Hugging Face's GPT-2 reads. A config.json lies beside
//! the weights, and a tokenizer.json too, unless tokens are bytes.

use volta::{sys, Context, Model, Tokenizer, Trainer, TrainerOptions};

/// What the tables of tokens and positions hold stays; the rest moves slowly.
fn train(model: &mut Model, tokens: &[i32], steps: u64) -> volta::Result<()> {
    let options = TrainerOptions {
        input_shapes: vec![vec![8, 32]],
        frozen: vec!["*embedding*".into()],
        numbers: sys::volta_trainer_options {
            steps,
            schedule: sys::VOLTA_SCHEDULE_COSINE,
            warmup_steps: steps / 10,
            learning_rate: 1e-3,
            clip_norm: 1.0,
            ..Default::default()
        },
        ..Default::default()
    };
    let mut trainer = Trainer::new(model, &options)?;
    trainer.set_tokens(tokens)?;
    for _ in 0..steps {
        trainer.step_tokens()?;
    }
    trainer.update_model(model)
}

fn run(weights: &str, path: &str, out: &str, steps: u64) -> Result<bool, Box<dyn std::error::Error>> {
    let context = Context::new()?;
    // Architecture and sizes are what config.json says; weights become f32, exactly.
    let mut model = Model::import(&context, weights)?;
    let tokenizer = match model.tokenizer()? {
        Some(tokenizer) => tokenizer,
        None => {
            let bytes = Tokenizer::bytes(&context)?;
            model.set_tokenizer(&bytes)?;
            bytes
        }
    };
    let tokens = tokenizer.encode(std::fs::read(path)?)?;
    let (first, kept) = tokens.split_at(tokens.len() * 9 / 10); // of the rest is asked whether it helped

    let before = model.evaluate_tokens(kept)?;
    train(&mut model, first, steps)?;
    let after = model.evaluate_tokens(kept)?;
    model.save(format!("{out}.volta"))?;
    let mut small = model.quantize(sys::VOLTA_INT8)?; // a model of its own, a quarter of the size
    let quantized = small.evaluate_tokens(kept)?;
    small.save(format!("{out}.int8.volta"))?;
    println!("loss on the last tenth: {before:.4} imported, {after:.4} fine-tuned, {quantized:.4} in int8");

    // Under the names that the weights came with.
    model.export_hugging_face(format!("{out}.safetensors"), Some(format!("{out}.json")))?;
    println!("hash {}", model.hash()?);
    Ok(after < before && quantized < before)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.len() < 4 || arguments.len() > 5 {
        eprintln!("usage: fine_tune WEIGHTS.safetensors TEXT OUT [STEPS]");
        std::process::exit(2);
    }
    let steps = arguments.get(4).map_or(100, |steps| steps.parse().unwrap_or(0));
    match run(&arguments[1], &arguments[2], &arguments[3], steps) {
        Ok(helped) => std::process::exit(!helped as i32),
        Err(error) => {
            eprintln!("fine_tune: {error}");
            std::process::exit(1)
        }
    }
}
