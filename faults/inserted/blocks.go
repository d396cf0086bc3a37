package inserted

// Blocks is the number of blocks of statements. A copy that counts has its own number
// here.
const Blocks = 16
