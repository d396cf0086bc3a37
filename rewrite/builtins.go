package rewrite

import "strings"

// wordSet is a set of words in lower case.
type wordSet struct {
	words map[string]struct{}
	// lengths has, for each first letter, the lengths of the words with it, as bits.
	lengths [32]uint32
}

// newWordSet returns the set of the words in a text, none of which is longer than maxBuiltin.
func newWordSet(words string) *wordSet {
	s := &wordSet{words: map[string]struct{}{}}
	for _, w := range strings.Fields(words) {
		if len(w) > maxBuiltin {
			panic("rewrite: a word is too long to be found in a set: " + w)
		}
		s.words[w] = struct{}{}
		s.lengths[w[0]&0x1f] |= 1 << len(w)
	}
	return s
}

// mayHave reports whether the set has a word with the first letter and the length
// of this one, which is not empty: for most words it has none.
func (s *wordSet) mayHave(word string) bool {
	return s.lengths[word[0]&0x1f]>>len(word)&1 != 0
}

// has reports whether the word is in the set, whatever its case.
func (s *wordSet) has(word string) bool {
	var lower [maxBuiltin]byte
	if len(word) > len(lower) || !s.mayHave(word) {
		return false
	}
	for i := range len(word) {
		lower[i] = word[i]
		if 'A' <= word[i] && word[i] <= 'Z' {
			lower[i] |= 0x20
		}
	}
	_, ok := s.words[string(lower[:len(word)])]
	return ok
}

// maxBuiltin is the length in bytes that no name of a set is longer than.
const maxBuiltin = 25

// bracketWords are the words of MySQL's and MariaDB's grammar that a bracket
// may follow in an INSERT without being a call.
var bracketWords = newWordSet(bracketList)

const bracketList = `values value row partition in and or not xor like rlike regexp div mod between
	case when then else interval binary as returning `

// builtins are functions of MySQL and MariaDB that INSERTs often call and that
// read nothing of the last statement: MySQL 8.4, chapter 14. What is missing
// costs only the session's LAST_INSERT_ID.
var builtins = newWordSet(builtinList)

const builtinList = `
	now current_timestamp localtime localtimestamp sysdate curdate current_date curtime current_time
	utc_date utc_time utc_timestamp unix_timestamp from_unixtime from_days to_days to_seconds
	date time timestamp datetime year month day hour minute second microsecond date_add date_sub adddate
	subdate addtime subtime datediff timediff timestampadd timestampdiff date_format time_format
	str_to_date makedate maketime sec_to_time time_to_sec last_day convert_tz
	uuid uuid_short uuid_to_bin bin_to_uuid rand
	coalesce ifnull nullif if greatest least default values value isnull
	concat concat_ws lower lcase upper ucase trim ltrim rtrim left right substring substr substring_index
	mid replace repeat reverse lpad rpad space insert instr locate position field elt char ascii ord
	length char_length character_length bit_length octet_length format quote
	hex unhex to_base64 from_base64 md5 sha sha1 sha2 crc32 aes_encrypt aes_decrypt compress uncompress
	random_bytes bin oct conv bit_count
	cast convert binary signed unsigned decimal char nchar varchar double float
	json_object json_array json_quote json_unquote json_extract json_set json_insert json_replace
	json_remove json_merge json_merge_patch json_merge_preserve json_array_append json_compact json_valid
	abs ceil ceiling floor round truncate mod pow power sqrt exp ln log log2 log10 sign pi
	sin cos tan asin acos atan atan2 radians degrees
	user current_user session_user system_user database schema connection_id version nextval
	inet_aton inet_ntoa inet6_aton inet6_ntoa is_uuid
	point linestring polygon multipoint multilinestring multipolygon geometrycollection
	st_geomfromtext st_geometryfromtext st_geomfromwkb st_geomfromgeojson st_pointfromtext
	st_pointfromwkb st_linefromtext st_polyfromtext st_polygonfromtext st_srid st_point
	pointfromtext geomfromtext
	count max min sum avg std stddev stddev_pop stddev_samp variance var_pop var_samp bit_and bit_or bit_xor
	group_concat json_arrayagg json_objectagg any_value
	row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value`
