cp book.volta gpt2.volta
