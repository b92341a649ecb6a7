/** An operation on many recipients, call after call, until none is left or somebody stops it. */
export interface BulkCount {
  readonly matched: number
  readonly changed: number
  /** Of those that match: they may get the mail twice. */
  readonly uncertain: number
}

export interface BulkPage extends Pick<BulkCount, 'matched' | 'changed'> {
  readonly uncertain?: number
  readonly nextPageToken?: string | undefined
}

export interface BulkResult extends BulkCount {
  /** False: it was stopped before the end. */
  readonly isWhole: boolean
}

/** Each call changes up to 10,000 recipients, or looks at 50,000. */
const callsMax = 10_000

/** What a call has begun is waited for: only the next one is left out. */
export async function runBulk(o: {
  readonly call: (pageToken: string | undefined) => Promise<BulkPage>
  readonly onProgress: (count: BulkCount) => void
  readonly isStopped: () => boolean
}): Promise<BulkResult> {
  let count: BulkCount = { matched: 0, changed: 0, uncertain: 0 }
  let token: string | undefined
  for (let calls = 0; calls < callsMax; calls += 1) {
    if (o.isStopped()) return { ...count, isWhole: false }
    const page = await o.call(token)
    count = {
      matched: count.matched + page.matched,
      changed: count.changed + page.changed,
      uncertain: count.uncertain + (page.uncertain ?? 0),
    }
    o.onProgress(count)
    token = page.nextPageToken || undefined
    if (token === undefined) return { ...count, isWhole: true }
  }
  return { ...count, isWhole: false }
}
