package statements_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/testturn"
)

// carriedColumns are columns of every type, in carriedRows.
var carriedColumns = strings.Fields("i bu ti de de2 f d s s2 c tx bl vb dt dt6 ts da tm y bt en se u ip js bo")

const carriedTable = `CREATE TABLE src (id INT PRIMARY KEY, g INT, i INT, bu BIGINT UNSIGNED, ti TINYINT, de DECIMAL(10,3),
	de2 DECIMAL(20,10), f FLOAT, d DOUBLE, s VARCHAR(50), s2 VARCHAR(50) CHARACTER SET latin1, c CHAR(10), tx TEXT, bl BLOB, vb VARBINARY(30),
	dt DATETIME, dt6 DATETIME(6), ts TIMESTAMP(3) NULL, da DATE, tm TIME(3), y YEAR, bt BIT(12), en ENUM('b','a','c'), se SET('x','y','z'),
	u UUID, ip INET6, js JSON, bo BOOL)`

const carriedRows = `INSERT INTO src VALUES
	(1,1,1,18446744073709551615,1,1.5,1.1234567891,0.1,0.1,'7','é','ab','long','\0\1b','\0v','2020-01-02 03:04:05','2020-01-02 03:04:05.123456',
		'2020-01-02 03:04:05.123','2021-02-03','12:13:14.5',2020,b'100000000001','a','x,z','01a22267-d7c9-75bd-80cd-000000000001','::1','{"a":1.50}',1),
	(2,1,2,0,-1,-2.255,0.0000000001,3.3,1e300,'1.5','x','cd ','t2','b','vv','1999-12-31 23:59:59','1999-12-31 23:59:59.999999',
		'1999-12-31 23:59:59.999','1999-12-31','-10:00:00.125',1999,b'1','b','y','01a22267-d7c9-75bd-80cd-0000000000ff','::2','[1,2]',0),
	(3,2,-7,5,0,10,99.5,0,-1.7e-30,'abc','','','','','',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),
	(4,2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'2024-02-29','2024-02-29 00:00:00.5','2024-02-29 00:00:00.5','2024-02-29',
		'00:00:00.1',2024,b'101','c','','f1a22267-d7c9-75bd-80cd-0000000000ff','ff::','{"b":[1,2.50]}',1),
	(5,3,1000000007,77,9,3.333,12345.6789,1e20,1234567.891,'0x41','z9','q','tt','bb','v3','2000-01-01','2000-01-01','2000-01-01','2000-01-01',
		'23:59:59.999',2000,b'111111111111','a','x','01a22267-0000-75bd-80cd-0000000000ff','::','3',1)`

// carriedItems are items of a select list, {} for each column of carriedColumns.
var carriedItems = strings.Split(`{}|src.{} AS x|-{}|{}+1|{}*1.5|{}-{}|{} DIV 2|{}%3|{}>1|{} IS NULL|{} IN (1,2)|{} LIKE '%1%'|NOT {}|{}/3|{}/3 > 0.3|
	CAST({} AS CHAR)|CAST({} AS CHAR(5))|CAST({} AS DECIMAL(20,10))|CAST({} AS SIGNED)|CAST({} AS UNSIGNED)|CAST({} AS DOUBLE)|CAST({} AS DATE)|
	CAST({} AS DATETIME(6))|CAST({} AS TIME)|CAST({} AS BINARY)|CAST({} AS FLOAT)|CONVERT({}, CHAR)|CONVERT({} USING utf8mb4)|CONCAT({})|CONCAT({},'-',{}/3)|
	CONCAT_WS(',',{},1)|UPPER({})|LOWER({})|TRIM({})|LENGTH({})|CHAR_LENGTH({})|LEFT({},3)|RIGHT({},2)|SUBSTRING({},2)|REPLACE({},'a','b')|
	MD5({})|SHA2({},256)|HEX({})|REVERSE({})|LPAD({},12,'0')|COUNT({})|COUNT(DISTINCT {})|GROUP_CONCAT({} ORDER BY id)|JSON_OBJECT('k',{})|
	JSON_ARRAY({})|JSON_QUOTE({})|COALESCE({},{})|IF(id>2,{},NULL)|CASE WHEN id>2 THEN {} END|NULLIF({},1)|MAX({})|MIN({})|SUM({})|AVG({})|
	(SELECT {} FROM src x WHERE x.id=src.id)|(SELECT MAX({}) FROM src x)|(SELECT COUNT({}) FROM src x)|LAG({}) OVER (ORDER BY id)|
	BINARY {}|DATE({})|YEAR({})|DATE_ADD({}, INTERVAL 1 DAY)|DATE_SUB({}, INTERVAL 1500 MICROSECOND)|{} + INTERVAL 1 DAY|{} - INTERVAL 1 HOUR|DATEDIFF({},'2020-01-01')|
	ABS({})|ROUND({})|ROUND({},1)|FLOOR({})|GREATEST({},{})|IF(id>2,1,{})|COALESCE({},0)|COALESCE({},'')|
	1|-1|+2|1.50|1.5e3|1e300|'abc'|'1.50'|'é'|N'abc'|_utf8mb4'abc'|_latin1'abc'|x'4142'|NULL|TRUE|DATE '2020-01-02'|TIMESTAMP '2020-01-02 03:04:05.123'|
	TIME '10:11:12.5'|123456789012345678901234567890|0.1234567890123456789|'a' 'b'|''|((1.5))|.5|5.|1e-3|0x41|b'1000001'|0b1000001|PI()|@dd|1/3|
	CURRENT_TIMESTAMP|CURRENT_DATE|UTC_TIME|NOW(6)|CURTIME(2)|UNIX_TIMESTAMP()|ROW_NUMBER() OVER (ORDER BY id)|RANK() OVER (ORDER BY g)|NTILE(2) OVER (ORDER BY id)|
	COUNT(*) OVER ()|COUNT(*)|SUM(1)|SUM(i > 1)|EXISTS (SELECT 1 FROM src x WHERE x.id = src.id + 1)|id IN (SELECT g FROM src)|(SELECT 1)|(SELECT 'a')|(SELECT 0x41)|
	CASE WHEN id > 1 THEN 'a' ELSE 'bb' END|CASE WHEN id > 1 THEN 1 ELSE 200 END|CASE id WHEN 1 THEN 'a' WHEN 2 THEN 'bcd' END|IF(id>1, 'x', 'yyy')|IF(id>1, TRUE, -1)|
	IF(id>1, 1.5, 2)|COALESCE(NULL, 'a')|1+1|2*3|5 DIV 2|7 % 3|1.5+1|1e0/3|id <=> 1|id BETWEEN 1 AND 2|s REGEXP 'a'|s NOT LIKE 'a%' ESCAPE '!'|id XOR g|
	CONCAT(i/3)|CONCAT(0x41, 'b')|CONCAT(@dd)|CONCAT(AVG(i))|CONCAT(PI())|LENGTH(PI())|CAST(i/3 AS CHAR)|CAST(AVG(i) AS DECIMAL(20,10))|CAST(0x41 AS UNSIGNED)|CAST(@dd AS CHAR)|
	CAST(LOG(0) AS CHAR)|JSON_EXTRACT(js,'$.a')|JSON_VALUE(js,'$.a')|JSON_LENGTH(js)|GROUP_CONCAT(i/3 ORDER BY id)|GROUP_CONCAT(DISTINCT s ORDER BY s SEPARATOR ';')|
	NOW(6) - INTERVAL 1 SECOND|LAST_DAY(dt)|TIMESTAMPDIFF(DAY, dt, da)|DATABASE()|UNHEX(HEX(s))|TO_BASE64(s)|TRIM(LEADING '0' FROM s)|SUBSTRING_INDEX(s,'a',1)|s COLLATE utf8mb4_bin|
	of_int(i)|of_decimal(de)|of_float(f)|of_double(d)|of_text(s)|of_time(tm)|of_datetime(dt6)|of_blob(vb)|of_bit(bt)|of_year(y)`, "|")

// carriedFunctions are the types that stored functions return, of a value of that type.
var carriedFunctions = map[string]string{
	"of_int": "INT", "of_decimal": "DECIMAL(20,9)", "of_float": "FLOAT", "of_double": "DOUBLE", "of_text": "VARCHAR(60)",
	"of_time": "TIME(3)", "of_datetime": "DATETIME(6)", "of_blob": "VARBINARY(60)", "of_bit": "BIT(12)", "of_year": "YEAR",
}

// isIntegers reports whether the engine says that a query's column is an integer, or of a
// type of a stored function that survives, and the text leaves no more in doubt than that.
func isIntegers(t *testing.T, s *harness.Scratch, query string) bool {
	t.Helper()
	pl := survivalPlan(query)
	if pl.Action != plans.Fill || pl.Doubts(0) == nil {
		return false
	}
	rows, err := s.Raw.Query("WITH kf (c1) AS (" + query + ") SELECT * FROM kf LIMIT 0")
	if err != nil {
		return false
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		t.Fatal(err)
	}
	name := types[0].DatabaseTypeName()
	return strings.HasSuffix(name, "INT") || pl.Doubts(0)[0].Call && name != "FLOAT" && name != "BIT" && name != "YEAR"
}

// carriedShapes are the queries that an item {} stands in.
var carriedShapes = map[string]string{
	"plain":    "SELECT {} FROM src",
	"group":    "SELECT {} FROM src GROUP BY id",
	"order":    "SELECT {} FROM src ORDER BY g DESC, id LIMIT 3",
	"all":      "SELECT {} FROM src UNION ALL SELECT {} FROM src WHERE id < 3",
	"union":    "SELECT {} FROM src UNION SELECT {} FROM src WHERE id < 3",
	"distinct": "SELECT DISTINCT {} FROM src",
}

// carriedTypes are the types of the columns that items are stored in.
var carriedTypes = []string{"DOUBLE", "DECIMAL(40,18)", "TEXT", "BIGINT", "DATETIME(6)", "FLOAT", "DATE", "VARBINARY(200)"}

// TestSurvives: an item of a select list of which package selects says that it survives
// a temporary table is stored alike with and without ROW_NUMBER(), in columns of eight
// types. Some of the others are not, in each shape of a query.
func TestSurvives(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	s.Raw.SetMaxOpenConns(1)
	var names, declared, carried []string
	for i, typ := range carriedTypes {
		name := fmt.Sprintf("v%d", i)
		names, declared, carried = append(names, name), append(declared, name+" "+typ), append(carried, "c1")
	}
	columns := strings.Join(names, ", ")
	harness.Must(t, s.Raw, carriedTable, carriedRows,
		"CREATE TABLE plain ("+strings.Join(declared, ", ")+")", "CREATE TABLE numbered (k INT, "+strings.Join(declared, ", ")+")",
		"SET sql_mode = ''")
	for name, typ := range carriedFunctions {
		harness.Exec(t, s.Raw, "CREATE FUNCTION "+name+"(x VARCHAR(60)) RETURNS "+typ+" DETERMINISTIC RETURN x")
	}
	harness.Must(t, s.Raw,
		"SET sql_mode = '', timestamp = 1700000000.123456, @dd = 1.25")
	var items, ofColumns []string
	for _, item := range carriedItems {
		if item = strings.TrimSpace(item); !strings.Contains(item, "{}") {
			items = append(items, item)
			continue
		}
		for _, c := range carriedColumns {
			ofColumns = append(ofColumns, strings.ReplaceAll(item, "{}", c))
		}
	}
	// There are 27 columns: 10 has no factor of them, so that each turn has some of each.
	items = append(items, testturn.Some(t, ofColumns, 10)...)
	tried, changed := 0, map[string]int{}
	for _, item := range items {
		for name, shape := range carriedShapes {
			query := strings.ReplaceAll(shape, "{}", item)
			item, _, _ := strings.Cut(item, " AS x")
			survives := surviving(t, query) || isIntegers(t, s, query)
			plain := strings.ReplaceAll(shape, "{}", item+strings.Repeat(", "+item, len(names)-1))
			if _, err := s.Raw.Exec("INSERT INTO plain (" + columns + ") " + plain); err != nil {
				continue // of this type and column it is no expression
			}
			_, err := s.Raw.Exec("INSERT INTO numbered (" + columns + ", k) WITH kf (c1) AS (" + query + ") SELECT " +
				strings.Join(carried, ", ") + ", ROW_NUMBER() OVER () FROM kf")
			want, got := carriedValues(t, s, "plain"), carriedValues(t, s, "numbered")
			harness.Must(t, s.Raw, "DELETE FROM plain", "DELETE FROM numbered")
			switch same := err == nil && slices.Equal(got, want); {
			case survives:
				tried++
				if !same {
					t.Errorf("%s: %s stores %q, plain %q (%v)", name, item, got, want, err)
				}
			case !same:
				changed[name]++
			}
		}
	}
	if tried < 500 {
		t.Errorf("%d queries survive", tried)
	}
	for name := range carriedShapes {
		// UNION has a temporary table without ROW_NUMBER() too.
		if changed[name] == 0 && name != "union" && name != "all" {
			t.Errorf("%s: nothing changes on the way", name)
		}
	}
}

// surviving reports whether package selects says so of a query.
func surviving(t *testing.T, query string) bool {
	t.Helper()
	pl := survivalPlan(query)
	if pl.Action != plans.Fill {
		t.Fatalf("%s: %v", query, pl.Refusal)
	}
	return pl.Inserts[0].Query.Survives
}

func survivalPlan(query string) *plans.Plan {
	target := &plans.Target{Table: "t", Keys: []plans.Key{{Column: "id", Fill: plans.FillMissing, Integer: true, Counted: true}}}
	return compile.Query(dialect.MariaDB(), func(_, name string) *plans.Target {
		if name == "t" {
			return target
		}
		return nil
	}, "INSERT INTO t (a) "+query)
}

// carriedValues returns the rows of a table in their order, bytes as digits.
func carriedValues(t *testing.T, s *harness.Scratch, table string) []string {
	t.Helper()
	return harness.RowsOf(t, s.Raw, "SELECT v0, v1, HEX(v2), v3, v4, v5, v6, HEX(v7) FROM "+table+" ORDER BY 1, 2, 3, 4, 5, 6, 7, 8")
}
