/** The front door of mail: no tenant, no SQL; the caller opens connections. */
export {
  addressKeyOf,
  checkDisplayName,
  checkHeaderText,
  type EmailAddress,
  type ParsedAddress,
  parseAddress,
  toWireDomain,
} from './address.ts'
export { type Attachment, dispositionOf, mediaTypeOf } from './attachment.ts'
export {
  createMailAuthenticator,
  type MailAuthenticator,
} from './authenticate/mail-authenticator.ts'
export type { Authentication } from './authenticate/result.ts'
export {
  type CopyParts,
  checkBodyText,
  composeMessage,
  type MessageInput,
  type PreparedMessage,
  prepareMessage,
  unsubscribeHeaders,
} from './build-message.ts'
export { checkHeader, headerBytes } from './check-header.ts'
export { type Classified, classifiedOf, classifierOf } from './classified.ts'
export { type ClassifiableFailure, type Classification, classifyFailure } from './classify-reply.ts'
export { createMail } from './create.ts'
export {
  concernsMailer,
  type FailureCategory,
  failedReasonOf,
  isStableReason,
} from './failure-category.ts'
export { encodeHeaderText, type Mailbox } from './header-lines.ts'
export { hideAddresses } from './hide-addresses.ts'
export { classifyImapFailure, type ImapClassification } from './imap/classify-failure.ts'
export { IMAP_REFUSALS, type ImapFailure, type ImapReply, type ImapStage } from './imap/failure.ts'
export { judgeBounce } from './judge-bounce.ts'
export { createMessageParser, type MessageParser } from './parse/message-parser.ts'
export {
  type MessageHeader,
  type ParsedAttachment,
  type ParsedMailbox,
  type ParsedMessage,
  unreadMessage,
} from './parse/parsed-message.ts'
export { threadIdOf } from './parse/thread-of.ts'
export {
  createPhishingScanner,
  createRspamd,
  domainsAbove,
  type PhishingScanner,
  rspamdOutcomes,
  type Scan,
  type ScannedContent,
  type ScanResult,
  withSecondOpinion,
} from './phishing/index.ts'
export {
  createPlaceholders,
  fillSplit,
  type Placeholders,
  type SplitText,
  splitAtPlaceholders,
} from './placeholders.ts'
export { type ChangedPart, prepareRaw, rewriteRaw } from './raw/prepare-raw.ts'
export { fileOfRaw } from './raw/raw-attachments.ts'
export { createRawReader, type RawReader } from './raw/raw-reader.ts'
export type { FilePlace, PartPlace, RawMessage, RawReading } from './raw/read-raw.ts'
export type { MailReport } from './reports/mail-report.ts'
export type { LinkOffsets } from './rewrite/find-link-offsets.ts'
export { createLinkFinder, type LinkFinder } from './rewrite/link-finder.ts'
export { spliceHtml } from './rewrite/splice-html.ts'
export {
  failureOfConnect,
  LOCAL_REFUSALS,
  type SmtpFailure,
  type SmtpReply,
  type SmtpStage,
} from './smtp/failure.ts'
export { openSmtpSession } from './smtp/open-session.ts'
export { createLoginRedactor, type LoginRedactor } from './smtp/redact-login.ts'
export type {
  OpenSessionOptions,
  OpenSessionResult,
  SecureSocket,
  SendOptions,
  SmtpAuth,
  SmtpConnectOptions,
  SmtpResult,
  SmtpSecurity,
  SmtpSession,
} from './smtp/session.ts'
export type { RenderedTemplate, TemplateInput } from './template/render-template.ts'
export {
  createTemplateRenderer,
  type RenderedTurn,
  type TemplateRenderer,
} from './template/template-renderer.ts'
export { textOfHtml } from './text-of-html.ts'
export { atOnceMs, linksAtOnceMin } from './user-agent/bot-rules.ts'
export { type BotVerdict, decideBot } from './user-agent/decide-bot.ts'
export {
  createUserAgentReader,
  type UserAgent,
  userAgentCharactersMax,
} from './user-agent/read-user-agent.ts'
