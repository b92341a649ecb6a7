/** How many requests of one API key may be under way at once. Further ones are answered 429. */
import { type ApiError, rateLimited } from '../../errors.ts'

export const requestsPerKeyMax = 1_000
export const requestsPerKey = 'requests-per-key'

export interface RequestsUnderWay {
  /** Counts one, or answers the refusal. */
  begin(keyId: string): ApiError | undefined
  end(keyId: string): void
}

export function createRequestsUnderWay(max: number): RequestsUnderWay {
  const counts = new Map<string, number>()
  return {
    begin(keyId) {
      const count = counts.get(keyId) ?? 0
      if (count >= max)
        return rateLimited({
          policy: requestsPerKey,
          quota: max,
          retryAfterS: 1,
          message: `Too many requests of this API key at once: at most ${max}`,
        })
      counts.set(keyId, count + 1)
      return undefined
    },
    end(keyId) {
      const count = (counts.get(keyId) ?? 0) - 1
      if (count > 0) counts.set(keyId, count)
      else counts.delete(keyId)
    },
  }
}
