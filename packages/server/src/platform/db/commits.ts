/**
 * Tells whether a piece of work has committed anything, so that a failure after that is not taken for
 * "nothing was done". It sees what the work does itself, also in what it awaits. A commit that many
 * share counts for the caller that began it; the others get its result or its error.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { DatabaseUnavailableError, isServerError, isSessionOver } from './errors.ts'

export interface Commits {
  isAny: boolean
}

const watched = new AsyncLocalStorage<Commits>()

/** Runs `work`; its first commit sets `commits.isAny`. */
export function watchCommits<T>(commits: Commits, work: () => Promise<T>): Promise<T> {
  return watched.run(commits, work)
}

/** To be called after a commit. */
export function noteCommit(): void {
  const commits = watched.getStore()
  if (commits !== undefined) commits.isAny = true
}

/** To be called after a statement outside a transaction, which is a transaction of its own. */
export function noteStatement(text: string): void {
  const commits = watched.getStore()
  if (commits !== undefined && !commits.isAny) commits.isAny = isWrite(text)
}

/** What a statement outside a transaction failed with: whether it was carried out may be unknown. */
export function explainStatement(error: unknown, text: string): unknown {
  if (!(error instanceof DatabaseUnavailableError) || !isWrite(text)) return error
  // An answer of the server says that it was rolled back, as long as the session goes on.
  if (isServerError(error.cause) && !isSessionOver(error.cause)) return error
  return new DatabaseUnavailableError('The database did not confirm a statement', {
    cause: error.cause,
    isCommitUnknown: true,
  })
}

/** A word of SQL that stands in a literal only errs on the safe side. */
function isWrite(text: string): boolean {
  return /\b(?:insert|update|delete)\b/i.test(text)
}
