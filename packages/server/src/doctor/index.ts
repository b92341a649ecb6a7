/** `postrider doctor`: the front door. */
export { examine } from './examine.ts'
export { fixOf } from './fixes.ts'
