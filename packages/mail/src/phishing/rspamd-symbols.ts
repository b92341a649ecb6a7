/**
 * What Rspamd says of links, and what it weighs here, on the scale of `signs.ts`. Its other symbols
 * are about spam, and about headers and hosts that an email on its way out does not have yet.
 */
export const rspamdSymbols: Readonly<Record<string, number>> = {
  // Known phishing, by URL and by host
  PHISHED_OPENPHISH: 70,
  PHISHED_PHISHTANK: 70,
  PHISHED_GENERIC_SERVICE: 70,
  VADE_PHISHING: 70,
  DBL_PHISH: 70,
  DBL_ABUSE_PHISH: 60,
  PH_SURBL_MULTI: 70,
  // Malware and botnets
  DBL_MALWARE: 70,
  DBL_BOTNET: 70,
  DBL_ABUSE_MALWARE: 60,
  DBL_ABUSE_BOTNET: 60,
  MW_SURBL_MULTI: 70,
  // Hosts that were broken into, or are of bad repute
  HACKED_WP_PHISHING: 40,
  CRACKED_SURBL: 40,
  URIBL_BLACK: 35,
  RSPAMD_URIBL: 35,
  DBL_SPAM: 25,
  ABUSE_SURBL: 25,
  // What a link looks like: much of it is found here as well, and click tracking looks the same
  OMOGRAPH_URL: 30,
  R_MIXED_CHARSET_URL: 15,
  R_SUSPICIOUS_URL: 15,
  PHISHING: 15,
}
