/* Writes confusables.txt: each code point that can stand in NFD and looks like
 * something else, with its prototype, as the spoof checker of ICU has them.
 *
 *   cc -o confusables confusables.c -licui18n -licuuc && ./confusables > ../confusables.txt
 */
#include <stdio.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/ustring.h>

int main(void) {
	UErrorCode err = U_ZERO_ERROR;
	USpoofChecker *checker = uspoof_open(&err);
	const UNormalizer2 *nfd = unorm2_getNFDInstance(&err);
	UVersionInfo version;
	char text[U_MAX_VERSION_STRING_LENGTH];
	u_getUnicodeVersion(version);
	u_versionToString(version, text);
	printf("# Prototypes of UTS #39, Unicode %s\n", text);
	for (UChar32 c = 0; c <= 0x10FFFF; c++) {
		UChar one[2], decomposed[64], skeleton[128];
		int32_t n = 0;
		if (U_IS_SURROGATE(c)) {
			continue;
		}
		U16_APPEND_UNSAFE(one, n, c);
		int32_t nd = unorm2_normalize(nfd, one, n, decomposed, 64, &err);
		int32_t ns = uspoof_getSkeleton(checker, 0, one, n, skeleton, 128, &err);
		if (U_FAILURE(err)) {
			fprintf(stderr, "U+%04X: %s\n", c, u_errorName(err));
			return 1;
		}
		if (u_strCompare(one, n, decomposed, nd, 0) != 0 || u_strCompare(one, n, skeleton, ns, 0) == 0) {
			continue;
		}
		printf("%X", c);
		for (int32_t i = 0; i < ns;) {
			UChar32 part;
			U16_NEXT(skeleton, i, ns, part);
			printf(" %X", part);
		}
		printf("\n");
	}
	return 0;
}
