"""What several tests share: made-up files, results and checks. Also used by the programs in bench/."""
