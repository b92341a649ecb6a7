/** How the names of the files end in which hits wait. Whoever finds one of the first may take it. */
export const WRITTEN = '.hits'
/** Being recorded. */
export const TAKEN = '.taken'
/** Kept for a person to look at: hits that the database refuses, and lines that are spoiled. */
export const REFUSED = '.refused'
export const UNREADABLE = '.unreadable'
