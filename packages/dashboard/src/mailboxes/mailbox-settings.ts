/** What is typed of a mailbox, as the service takes it. */
import type { Mailer } from '@postrider/client'

/** One in each line. */
export function readFolders(typed: string): string[] {
  return typed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

export interface WebhookDraft {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly isSigned: boolean
}

/** `undefined`: nothing changes. `null`: the webhook is deleted. Headers replace all that are stored. */
export function changedWebhook(
  stored: Mailer['webhook'],
  { url, headers, isSigned }: WebhookDraft,
) {
  const webhook_url = url.trim()
  if (webhook_url === '') return stored ? null : undefined
  const hasHeaders = Object.keys(headers).length > 0
  const isSwitched = isSigned !== (stored?.signing === true)
  if (webhook_url === stored?.webhook_url && !hasHeaders && !isSwitched) return undefined
  return {
    webhook_url,
    ...(hasHeaders && { headers }),
    ...(isSwitched && { signing: isSigned }),
  }
}
