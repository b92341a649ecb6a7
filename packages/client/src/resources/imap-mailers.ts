/** IMAP mailers (spec §4.3; contract §3, §3.5). */
import type {
  ConfigureImapAnswer,
  ConfigureImapBody,
  DeleteImapConfigAnswer,
  GetImapConfigAnswer,
  UpdateImapAnswer,
  UpdateImapBody,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'

const mailerPath = '/v1/imap/{mailer_id}'

export type UpdateImapInput = Omit<UpdateImapBody, 'mailer_id'> & { mailer_id: string }

export function configureIMAP(
  send: Send,
  body: ConfigureImapBody,
  options?: RequestOptions,
): Promise<ConfigureImapAnswer> {
  return send({ method: 'POST', path: '/v1/imap', body }, options)
}

export async function updateIMAP(
  send: Send,
  input: UpdateImapInput,
  options?: RequestOptions,
): Promise<UpdateImapAnswer> {
  const { mailer_id, ...body } = input
  return send({ method: 'PUT', path: mailerPath, parameters: { mailer_id }, body }, options)
}

export function getIMAPConfig(
  send: Send,
  mailerId: string,
  options?: RequestOptions,
): Promise<GetImapConfigAnswer> {
  return send({ method: 'GET', path: mailerPath, parameters: { mailer_id: mailerId } }, options)
}

export function deleteIMAPConfig(
  send: Send,
  mailerId: string,
  options?: RequestOptions,
): Promise<DeleteImapConfigAnswer> {
  return send({ method: 'DELETE', path: mailerPath, parameters: { mailer_id: mailerId } }, options)
}
