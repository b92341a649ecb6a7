/**
 * Whether a message is older than what is reported of its folder (docs/reference/inbound.md#mailboxes).
 *
 * Under the numbers that a folder had when it was begun, or given new ones, what arrived before its
 * bound was there already. Above them a UID is proof of arrival, and the server's clock is not asked,
 * save for what lies so far back that it would have been forgotten: mail that was moved here.
 */
export interface DatedMessage {
  readonly uid: number
  /** Undefined: the server says no time that can be read. */
  readonly arrivedAt: Date | undefined
}

export function isOld(
  { uid, arrivedAt }: DatedMessage,
  folder: { readonly firstUid: number; readonly oldBefore: Date | null },
  forgottenBefore: Date | undefined,
): boolean {
  if (arrivedAt === undefined) return false
  // Servers tell whole seconds: of the one in which it was configured nothing is taken for old.
  if (uid <= folder.firstUid && folder.oldBefore !== null && arrivedAt < secondOf(folder.oldBefore))
    return true
  return forgottenBefore !== undefined && arrivedAt < forgottenBefore
}

function secondOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 1000) * 1000)
}
