/** How the names of spool files end. Any process may take one of the first kind. */
export const WRITTEN = '.hits'
/** Being recorded. */
export const TAKEN = '.taken'
/** Kept for a person to look at: hits that the database refuses, and lines that are spoiled. */
export const REFUSED = '.refused'
export const UNREADABLE = '.unreadable'
