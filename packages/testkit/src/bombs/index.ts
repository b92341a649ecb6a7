/** All kinds of hostile input by name. One seed makes all of it again. */
import { authenticationHeader, dnsText } from './authentication.ts'
import { type Bomb, createBombs, type Material } from './bomb.ts'
import { html, liquid } from './content.ts'
import {
  addressList,
  complaint,
  deliveryReport,
  headerBlock,
  informalBounce,
  mimeMessage,
} from './mail.ts'
import { smtpCommand, smtpReply } from './smtp.ts'
import {
  csvFile,
  httpHeader,
  idToken,
  jsonBody,
  relayAnswer,
  sendGridCallback,
  sparkPostCallback,
  tokenAnswer,
  trackerPath,
  userAgent,
} from './web.ts'

export const bombMaterials = {
  'mime message': mimeMessage,
  'header block': headerBlock,
  'address list': addressList,
  'delivery report': deliveryReport,
  complaint,
  'informal bounce': informalBounce,
  'authentication header': authenticationHeader,
  'dns text': dnsText,
  'json body': jsonBody,
  html,
  liquid,
  'smtp reply': smtpReply,
  'smtp command': smtpCommand,
  'user agent': userAgent,
  'sparkpost callback': sparkPostCallback,
  'sendgrid callback': sendGridCallback,
  'relay answer': relayAnswer,
  'token answer': tokenAnswer,
  'id token': idToken,
  'tracker path': trackerPath,
  'http header': httpHeader,
  'csv file': csvFile,
} as const satisfies Readonly<Record<string, Material>>

export type BombKind = keyof typeof bombMaterials

export const bombKinds = Object.keys(bombMaterials) as readonly BombKind[]

export function bombsOf(
  kind: BombKind,
  o: { readonly seed: number; readonly extra?: number },
): readonly Bomb[] {
  return createBombs(kind, bombMaterials[kind], o)
}
