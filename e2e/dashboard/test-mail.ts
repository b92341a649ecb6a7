/** Mail that a key of test mode sends, delivered to nobody. */
import { Postrider } from '@postrider/client'
import { until } from '../examples/play-operations.ts'
import type { Scene } from './scene.ts'

/** Waits until it is delivered; answers its `ref_id`. */
export async function sendTestMail(
  { origin, tenant: { client } }: Pick<Scene, 'origin' | 'tenant'>,
  o: { readonly from: string; readonly to: string; readonly subject?: string },
): Promise<string> {
  const { api_key: apiKey } = await client.createKey({ name: 'Shop, tests', mode: 'test' })
  const tester = new Postrider({ apiKey, basePath: origin })
  const { ref_id: refId } = await tester.sendEmail({
    ...{ from: { email: o.from }, to: [{ email: o.to }] },
    subject: o.subject ?? 'To nobody',
    content: [{ type: 'text/html', value: '<p>To <a href="https://example.com/">nobody</a></p>' }],
    settings: { open_tracking: true, click_tracking: true },
  })
  const isDelivered = async () =>
    (await client.getEmail(refId)).email.recipients[0]?.status === 'delivered'
  await until(isDelivered)
  return refId
}
