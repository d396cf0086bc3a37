package inserted

// Blocks is the number of blocks of statements. In a copy of the repository that counts,
// the command faults replaces this number by the copy's own.
const Blocks = 16
