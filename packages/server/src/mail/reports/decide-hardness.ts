/** Whether a refusal is of the recipient, and for good: its address does not exist, or not any more. */
import { judgeBounce, type Refusal } from '../judge-bounce.ts'

export function decideHardness(refusal: Refusal): boolean {
  return judgeBounce(refusal).isOfAddress
}
