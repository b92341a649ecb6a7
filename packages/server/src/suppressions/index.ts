/** Suppressions: who must not be sent to, and why. Routes are mounted by `create.ts`. */
export { findSuppressed } from './find-suppressed.ts'
export { liftBounced, listSuppressions, type SuppressionRow } from './store.ts'
export { suppressAddress } from './suppress-address.ts'
