/** OAuth apps, and mailers that log in by them (interface §4.3; contract §3). */
import type {
  CreateOAuthAppAnswer,
  CreateOAuthAppBody,
  DeleteOAuthAppAnswer,
  ListOAuthAppsAnswer,
  OAuthLoginAnswer,
  OAuthLoginBody,
  SetOAuthActiveAnswer,
  SetOAuthActiveBody,
  UpdateOAuthAppAnswer,
  UpdateOAuthAppBody,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'

const appsPath = '/v1/oauth/apps'
const appPath = '/v1/oauth/apps/{app_id}'

export type UpdateOAuthAppInput = UpdateOAuthAppBody & { app_id: string }
export type SetOAuthActiveInput = SetOAuthActiveBody & { mailer_id: string }

export function createOAuthApp(
  send: Send,
  body: CreateOAuthAppBody,
  options?: RequestOptions,
): Promise<CreateOAuthAppAnswer> {
  return send({ method: 'POST', path: appsPath, body }, options)
}

export function listOAuthApps(send: Send, options?: RequestOptions): Promise<ListOAuthAppsAnswer> {
  return send({ method: 'GET', path: appsPath }, options)
}

export async function updateOAuthApp(
  send: Send,
  input: UpdateOAuthAppInput,
  options?: RequestOptions,
): Promise<UpdateOAuthAppAnswer> {
  const { app_id, ...body } = input
  return send({ method: 'PUT', path: appPath, parameters: { app_id }, body }, options)
}

export function deleteOAuthApp(
  send: Send,
  appId: string,
  options?: RequestOptions,
): Promise<DeleteOAuthAppAnswer> {
  return send({ method: 'DELETE', path: appPath, parameters: { app_id: appId } }, options)
}

export function oauthLogin(
  send: Send,
  body: OAuthLoginBody,
  options?: RequestOptions,
): Promise<OAuthLoginAnswer> {
  return send({ method: 'POST', path: '/v1/oauth/login', body }, options)
}

export async function setOAuthActive(
  send: Send,
  input: SetOAuthActiveInput,
  options?: RequestOptions,
): Promise<SetOAuthActiveAnswer> {
  const { mailer_id, ...body } = input
  const path = '/v1/oauth/{mailer_id}/active'
  return send({ method: 'PUT', path, parameters: { mailer_id }, body }, options)
}
