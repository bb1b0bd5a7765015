cp book.volta model.volta
