/** Whose copy a received message comes back from: all of its recipients are return paths of ours. */
import type { Place, ReturnPathTokens } from '../../sending/index.ts'
import type { StoredMessage } from './message-store.ts'

export function returnedTo(
  tokens: Pick<ReturnPathTokens, 'read'>,
  { tenantId, envelope }: Pick<StoredMessage, 'tenantId' | 'envelope'>,
): Place | undefined {
  const places = (envelope?.to ?? []).map((address) =>
    tokens.read(tenantId, address.slice(0, Math.max(0, address.lastIndexOf('@')))),
  )
  return places.includes(undefined) ? undefined : places[0]
}
