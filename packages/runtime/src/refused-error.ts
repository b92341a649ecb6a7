/**
 * Work that was not begun: it was beyond a limit, or the service that does it has stopped. The same work may be
 * asked for again later.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
  /** The name of the limiter or of the pool. */
  readonly by: string
  /** Present where the caller had as much under way and waiting as it may. Absent: it has stopped. */
  readonly full?: {
    /** How much of the caller's work runs at once. */
    readonly quota: number
    readonly retryAfterS: number
  }

  constructor(by: string, full?: { readonly quota: number; readonly retryAfterS: number }) {
    super(full === undefined ? `${by} has stopped` : 'Too many requests of this kind at once')
    this.by = by
    if (full !== undefined) this.full = full
  }
}
