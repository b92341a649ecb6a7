/** What is typed of a mailbox, as the service takes it. */
import type { Mailer } from '@postrider/client'

/** One in each line. */
export function readFolders(typed: string): string[] {
  return typed
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
}

/** `undefined`: nothing changes. `null`: the webhook is deleted. Headers replace all that are stored. */
export function changedWebhook(
  stored: Mailer['webhook'],
  url: string,
  headers: Readonly<Record<string, string>>,
) {
  const webhook_url = url.trim()
  if (webhook_url === '') return stored ? null : undefined
  const hasHeaders = Object.keys(headers).length > 0
  if (webhook_url === stored?.webhook_url && !hasHeaders) return undefined
  return { webhook_url, ...(hasHeaders && { headers }) }
}
