/** "Try now": ends the wait of a webhook until its next try, and no pause. */
import type { Postrider, WebhookStatus } from '@postrider/client'

/** Whose events wait until they are tried again. */
export const retriedStates: readonly WebhookStatus['state'][] = ['failing', 'dormant', 'parked']

/** False: it was paused meanwhile, and stays so. `resumeWebhook` would end that too. */
export async function tryNow(
  client: Pick<Postrider, 'getWebhookStatus' | 'resumeWebhook'>,
  webhookId: string,
): Promise<boolean> {
  const { status } = await client.getWebhookStatus(webhookId)
  if (status.state === 'paused') return false
  await client.resumeWebhook(webhookId)
  return true
}
