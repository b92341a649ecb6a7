/** Webhook registration and management (spec §4.1, §4.2). */
import type {
  DeleteWebhookAnswer,
  DeleteWebhookBody,
  ListWebhooksAnswer,
  RegisterWebhookAnswer,
  RegisterWebhookBody,
  UpdateWebhookAnswer,
  UpdateWebhookBody,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'

/** `event` is optional in this type only: the service refuses an update without it. */
export type UpdateWebhookInput = Partial<UpdateWebhookBody>

export function registerWebhook(
  send: Send,
  body: RegisterWebhookBody,
  options?: RequestOptions,
): Promise<RegisterWebhookAnswer> {
  return send({ method: 'POST', path: '/v1/webhook/register', body }, options)
}

export function updateWebhook(
  send: Send,
  body: UpdateWebhookInput,
  options?: RequestOptions,
): Promise<UpdateWebhookAnswer> {
  return send({ method: 'PUT', path: '/v1/webhook/update', body }, options)
}

export function deleteWebhook(
  send: Send,
  body: DeleteWebhookBody,
  options?: RequestOptions,
): Promise<DeleteWebhookAnswer> {
  return send({ method: 'DELETE', path: '/v1/webhook/delete', body }, options)
}

export function listWebhooks(send: Send, options?: RequestOptions): Promise<ListWebhooksAnswer> {
  return send({ method: 'GET', path: '/v1/webhook' }, options)
}
