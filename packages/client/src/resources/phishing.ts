/** Phishing protection's settings (contract §3.2). */
import type {
  GetPhishingSettingsAnswer,
  UpdatePhishingSettingsAnswer,
  UpdatePhishingSettingsBody,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'

const phishingPath = '/v1/phishing'

export function getPhishingSettings(
  send: Send,
  options?: RequestOptions,
): Promise<GetPhishingSettingsAnswer> {
  return send({ method: 'GET', path: phishingPath }, options)
}

export function updatePhishingSettings(
  send: Send,
  body: UpdatePhishingSettingsBody,
  options?: RequestOptions,
): Promise<UpdatePhishingSettingsAnswer> {
  return send({ method: 'PUT', path: phishingPath, body }, options)
}
