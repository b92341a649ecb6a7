/**
 * Named places at which a test can end the process, to prove that nothing is lost there.
 *
 * Off unless `POSTRIDER_FAILPOINTS` is set: `send.after_dot=kill@3,api.after_commit=kill` ends
 * the process by SIGKILL at the third passage of the one and the first of the other.
 */
export interface Failpoints {
  hit(name: FailpointName): void
}

export const failpointNames = [
  'api.before_commit',
  'api.after_commit',
  'send.after_claim',
  'send.after_connect',
  'send.before_dot',
  'send.after_dot',
  'send.after_reply',
  'send.after_finish',
  'dispatch.after_freeze',
  'dispatch.after_post',
  'dispatch.after_settle',
  'callback.after_store',
  'callback.before_apply',
  'callback.before_commit',
  'callback.after_commit',
  'hit.after_append',
  'hit.before_commit',
  'hit.after_commit',
  'inbound.after_store',
  'inbound.after_claim',
  'inbound.before_commit',
  'inbound.after_commit',
  'alerts.after_look',
  'alerts.before_commit',
  'alerts.after_post',
  'mailbox.before_commit',
  'mailbox.after_commit',
] as const
export type FailpointName = (typeof failpointNames)[number]

export function createFailpoints(
  spec: string | undefined,
  kill: () => void = () => process.kill(process.pid, 'SIGKILL'),
): Failpoints {
  const passagesLeft = new Map<string, number>()
  for (const item of spec?.split(',') ?? []) {
    const match = /^([a-z._]+)=kill(?:@([1-9][0-9]{0,6}))?$/.exec(item.trim())
    const name = match?.[1]
    if (name === undefined || !(failpointNames as readonly string[]).includes(name))
      throw new Error(`"${item}" is not a failpoint: use <name>=kill[@<passage>]`)
    passagesLeft.set(name, Number(match?.[2] ?? 1))
  }
  if (passagesLeft.size === 0) return { hit: () => undefined }
  return {
    hit(name) {
      const left = passagesLeft.get(name)
      if (left === undefined) return
      passagesLeft.set(name, left - 1)
      if (left === 1) kill()
    },
  }
}
