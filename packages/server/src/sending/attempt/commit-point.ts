/**
 * The commit point of an attempt: it is written once, right before its mail may be taken. From then on a lost
 * connection means that it may have been; a sender that has lost its claim by then never sends it.
 */
import type { Failpoints } from '../../platform/failpoints.ts'
import type { Claim } from './attempt.ts'

export interface CommitPointDeps {
  readonly failpoints: Failpoints
  /** Commits that the final dot may be sent; false when the claim is lost. */
  readonly markCommitted: (claim: Claim) => Promise<boolean>
}

export interface CommitPoint {
  /** `unknown`: the database did not say, and nothing was sent. */
  readonly state: 'open' | 'committed' | 'lost' | 'unknown'
  /** Throws where the final dot must not be sent. */
  commit(): Promise<void>
}

export function createCommitPoint(
  { failpoints, markCommitted }: CommitPointDeps,
  claim: Claim,
): CommitPoint {
  let state: CommitPoint['state'] = 'open'
  return {
    get state() {
      return state
    },
    async commit() {
      const isHeld = await markCommitted(claim).catch((error: unknown) => {
        state = 'unknown'
        throw error
      })
      state = isHeld ? 'committed' : 'lost'
      if (!isHeld) throw new Error('the claim was lost')
      failpoints.hit('send.before_dot')
    },
  }
}
