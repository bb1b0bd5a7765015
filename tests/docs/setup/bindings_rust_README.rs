let tokens: Vec<i32> = (0..2000).map(|i| i % 20).collect();
